"""Warm starts: a kernel whose artifact an earlier process made runs without the Python front end.

`describe` says what values are, `reads` how they are reached, `records` keeps and checks what a
kernel's front end has read, `program` remembers what a program used. `frontend/trace.py` records.
"""
