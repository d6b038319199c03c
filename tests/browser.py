"""Headless Chromium for the tests of the report."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

webdriver = pytest.importorskip(
    "selenium.webdriver", reason="selenium is missing: pip install -e '.[dev]'"
)
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

__all__ = ["PHONE", "WIDE", "Browser", "By", "Keys", "browser"]

WIDE, PHONE = (1280, 900), (390, 844)
FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-background-networking".split()


class Browser:
    """A page in Chromium."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, url: str, size: tuple[int, int] = WIDE, theme: str = "light") -> None:
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        width, height = size
        # Chromium's window cannot be as narrow as a phone, so emulate the size.
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        # Without smooth scrolling, an element is in view at once.
        preferences = {"prefers-color-scheme": theme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in preferences.items()]
        self.command("Emulation.setEmulatedMedia", features=features)
        self.driver.get(url)
        self.run("localStorage.clear()")
        self.driver.refresh()

    def command(self, name: str, **arguments: Any) -> Any:
        return self.driver.execute_cdp_cmd(name, arguments)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def shown(self, selector: str) -> list[bool]:
        """Whether each element is visible, also inside a closed details element."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.checkVisibility())",
            selector,
        )

    def press(self, key: str) -> None:
        self.driver.switch_to.active_element.send_keys(key)

    def focused(self) -> Any:
        return self.run("return document.activeElement")

    def requests(self) -> list[str]:
        messages = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]

    def console_messages(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from started()


def started() -> Iterator[Browser]:
    """Start Chromium; skips the test without it, except in CI, where it must be there."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        missing = "Chromium is missing: on Debian, apt-get install chromium chromium-driver"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # Given the path of a driver, selenium does not download one.
    driver = webdriver.Chrome(options=options, service=Service(executable_path=chromedriver))
    yield Browser(driver)
    driver.quit()
