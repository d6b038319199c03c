"""Defects of the SLURM plugin that workflow/slurm_executor.py works around.

Each test asserts the wrong behaviour. If one fails, the plugin has been mended: remove that part of
the workaround. SLURM's commands are scripts here; tests/slurm has the real ones.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import snakemake_executor_plugin_slurm as plugin


class Limiter:
    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *_: object) -> None: ...


class Executor(plugin.Executor):
    """The plugin's executor with one job in the queue, and without a workflow."""

    def __init__(self) -> None:
        settings = SimpleNamespace(
            status_command="sacct",
            status_attempts=2,
            init_seconds_before_status_checks=1,
            keep_successful_logs=True,
            requeue=True,
            no_requeue=False,
            qos=None,
            reservation=None,
            pass_command_as_script=False,
        )
        self.workflow = SimpleNamespace(executor_settings=settings)
        self.logger = logging.getLogger("plugin")
        self.run_uuid, self.status_rate_limiter = "name", Limiter()
        self._next_seconds_between_status_checks = 1
        self._failed_nodes: set[str] = set()
        self._preemption_warning = False
        self._status_query_calls = self._status_query_failures = 0
        self._status_query_total_seconds = self._status_query_max_seconds = 0.0
        self._status_query_min_seconds = None
        self._status_query_cycle_rows: list[Any] = []
        self.reported: list[str] = []

    def report_job_success(self, job_info: Any) -> None:
        self.reported.append("success")

    def report_job_error(self, job_info: Any, **_: Any) -> None:
        self.reported.append("error")

    def check(self) -> tuple[int, list[str]]:
        """How many jobs are still active after a status query, and what was reported."""
        info = SimpleNamespace(external_jobid="12", aux={}, job=None)

        async def active() -> int:
            return len([one async for one in self.check_active_jobs([info])])

        return asyncio.run(active()), self.reported


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """A function that writes a command's script to a folder at the front of the path."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def write(name: str, script: str) -> Path:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    write("scontrol", "exit 1")
    return write


def test_a_cancelled_job_counts_as_active(commands):
    """Its pull request 415 dropped the split of the state."""
    commands("sacct", "echo '12|CANCELLED by 5001'")
    assert Executor().check() == (1, [])
    commands("sacct", "echo '12|CANCELLED'")
    assert Executor().check() == (0, ["error"])


def test_a_failed_query_forgets_the_jobs(commands):
    """Its issue 207: the job is neither active nor reported."""
    commands("sacct", "exit 1")
    assert Executor().check() == (0, [])


def test_a_node_that_is_not_assigned_is_excluded(commands):
    """Its issue 485: after the requeue, sacct no longer knows the node."""
    commands(
        "sacct", 'case "$*" in *nodelist*) echo "None assigned";; *) echo "12|NODE_FAIL";; esac'
    )
    executor = Executor()
    executor.check()
    assert executor._failed_nodes == {"None assigned"}


def test_a_job_that_was_preempted_for_good_counts_as_active(commands):
    """PreemptMode=CANCEL: nothing will start it again."""
    commands("sacct", "echo '12|PREEMPTED'")
    executor = Executor()
    assert executor.check() == (1, [])
    assert executor.check() == (1, [])


def test_a_slurm_job_starts_a_second_snakemake():
    assert "--executor slurm-jobstep" in Executor().additional_general_args()


def test_a_group_whose_account_cannot_be_checked_is_not_reported(commands, tmp_path):
    """Accounting is away: the handler of the error asks for the rule of a group, which has none."""
    commands("sacctmgr", "exit 1")
    commands("sshare", "exit 1")
    executor = Executor()
    executor.slurm_logdir = tmp_path
    group = SimpleNamespace(
        name="search0",
        is_group=lambda: True,
        resources=SimpleNamespace(get=lambda name: "physics", slurm_account="physics"),
    )
    with pytest.raises(AttributeError, match="rule"):
        executor.run_job(group)
