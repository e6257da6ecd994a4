"""A file is written completely or stays unchanged."""

import os

import pytest

from micrograd.core.files import write_whole


def test_a_file_is_written_completely_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, b"old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match=r"nothing was written .*'.*nowhere.file'$"):
        write_whole(tmp_path / "nowhere" / "file", b"new")


def test_a_link_is_followed_and_permissions_are_the_default_ones(tmp_path):
    target, link, ordinary = tmp_path / "target", tmp_path / "link", tmp_path / "ordinary"
    ordinary.touch()
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode == ordinary.stat().st_mode
