"""Where programs of tests start that run on the emulator of CUDA and look at its log."""

START = """
import ctypes
import gc
import os
import pathlib
import sys
import threading

sys.path.insert(0, os.environ["CUDA_ARRAYS"])
import numpy as np
import kiln as ti


def fault(call, *args):
    try:
        call(*args)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
    else:
        print("no error")


def calls_of(function):
    # The calls of the driver that a function makes.
    log = pathlib.Path(os.environ["LOG"])
    before = len(log.read_text())
    function()
    return log.read_text()[before:].split()


"""
