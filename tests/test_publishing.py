"""Publishing replaces a publication in one step, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from little_publication import is_whole, make_run, name_of
from snap.errors import SnapError
from snap.publishing import replace
from snap.publishing.publish import fill, publish


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "results/new", "new")


@pytest.fixture
def published(tmp_path):
    to = tmp_path / "reports/paper"
    publish(make_run(tmp_path / "results/old", "old"), to)
    return to


@pytest.mark.parametrize("way", ["exchange", "two renames"])
def test_a_publication_that_is_killed_leaves_the_old_or_the_new_one_whole(tmp_path, way):
    """Killed before each of its operations on files, which are more than 60."""
    script = Path(__file__).with_name("little_publication.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), way],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert len(seen) > 60
    order = {"old": 0, "old aside": 1, "new": 2}
    assert sorted(seen, key=order.__getitem__) == seen
    assert {"old", "new"} <= set(seen)
    assert ("old aside" in seen) == (way == "two renames")


def test_a_publication_replaces_an_empty_folder_and_an_earlier_publication(tmp_path, run):
    to = tmp_path / "reports/paper"
    for prepare in (lambda: None, lambda: to.mkdir()):
        prepare()
        publish(run, to)
        assert is_whole(to)
        publish(make_run(tmp_path / "other", "other"), to)
        assert name_of(to) == "other"
        (to / "claims.csv").write_text("altered")  # publishing mends it
        publish(run, to)
        assert is_whole(to)
        assert name_of(to) == "new"
        assert list(to.parent.iterdir()) == [to]
        for path in sorted(to.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        to.rmdir()


def refused(run: Path, to: Path, says: str) -> None:
    with pytest.raises(SnapError, match=says) as error:
        publish(run, to)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("target", ["results", ".", "..", "/", "results/new", "results/.."])
def test_a_folder_that_was_not_published_is_not_replaced(tmp_path, run, monkeypatch, target):
    monkeypatch.chdir(tmp_path)
    before = files(tmp_path)
    refused(run, Path(target), "is not replaced: it has no record|cannot be replaced: give a")
    assert files(tmp_path) == before


@pytest.mark.parametrize("name", ["notes.txt", "tables/mine.csv", "figures/.hidden", "mine/a/b"])
def test_a_publication_with_another_file_is_not_replaced(published, run, name):
    (published / name).parent.mkdir(parents=True, exist_ok=True)
    (published / name).write_text("mine")
    before = files(published)
    refused(run, published, name.split("/a")[0])
    assert files(published) == before


@pytest.mark.parametrize("content", ["", "{", "[]", '{"files": {"../x": ""}}', "\0", "[" * 10**5])
def test_a_publication_with_a_damaged_record_is_not_replaced(published, run, content):
    (published / "record.json").write_text(content)
    before = files(published)
    refused(run, published, "record.json")
    assert files(published) == before


def test_a_file_and_a_link_are_not_replaced(tmp_path, published, run):
    file, link, dangling = (tmp_path / name for name in ("file", "link", "dangling"))
    file.write_text("mine")
    link.symlink_to(published)
    dangling.symlink_to(tmp_path / "nothing")
    for to in (file, link, dangling, Path("/dev/null")):
        refused(run, to, "is not a folder")
    assert file.read_text() == "mine"
    (published / "claims.csv").unlink()
    (published / "claims.csv").symlink_to(file)
    refused(run, published, "claims.csv")
    assert file.read_text() == "mine"


def test_files_beside_it_that_were_not_left_by_a_publication_are_kept(published, run):
    mine = published.with_name(".paper.new")
    mine.mkdir()
    (mine / "mine.txt").write_text("mine")
    refused(run, published, "mine.txt")
    assert (mine / "mine.txt").read_text() == "mine"
    assert name_of(published) == "old"


def test_two_publications_at_once_do_not_mix(published, run):
    with replace._alone(published):
        refused(run, published, "another publication")
    publish(run, published)
    assert name_of(published) == "new"


def test_documents_are_filled_in_together_or_not_at_all(tmp_path, published):
    good, bad, latin = (tmp_path / f"{name}.md" for name in ("good", "bad", "latin"))
    good.write_text("<!-- published: cost -->\nOUTDATED\n<!-- end -->\n")
    bad.write_text("<!-- published: nothing -->\n<!-- end -->\n")
    latin.write_bytes("Schr\xf6dinger".encode("latin-1"))
    for document, says in ((bad, "no passage 'nothing'"), (latin, "latin.md is not UTF-8")):
        with pytest.raises(SnapError, match=says):
            fill([good, document], published, {})
    assert "OUTDATED" in good.read_text()
