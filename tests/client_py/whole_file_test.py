"""kiln.whole_file: files that are replaced whole."""

import errno
import os

import pytest
from kiln import whole_file


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"before")
    path.chmod(0o640)
    return path


def test_a_new_file_takes_the_place(file):
    with open(file, "rb") as reader:
        whole_file.write(file, b"after")
        assert reader.read() == b"before"
    assert file.read_bytes() == b"after" and file.stat().st_mode & 0o777 == 0o640
    assert os.listdir(file.parent) == ["file"]


def test_a_link_stays(file, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(file)
    whole_file.write(link, b"after")
    assert link.is_symlink() and file.read_bytes() == b"after"


def test_a_file_that_is_mounted_is_written_in_place(file, monkeypatch):
    def refuse(*paths):
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(os, "replace", refuse)
    whole_file.write(file, b"after")
    assert file.read_bytes() == b"after" and os.listdir(file.parent) == ["file"]


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    whole_file.write(pipe, b"after")
    assert os.read(reader, 10) == b"after"
    os.close(reader)


def test_a_full_disk_leaves_the_previous_file(file, monkeypatch):
    def refuse(path, data):
        with open(path, "wb") as part:
            part.write(data[:1])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(whole_file, "_write", refuse)
    with pytest.raises(OSError, match="No space left on device") as raised:
        whole_file.write(file, b"after")
    assert raised.value.filename == file
    assert file.read_bytes() == b"before" and os.listdir(file.parent) == ["file"]
