"""Warm starts: a kernel whose artifact an earlier process made runs without the Python front end.

`frontend/trace.py` records what the front end reads. `records` stores and checks these records,
`describe` describes values, `reads` repeats reads, and `program` lists a program's kernels.
"""
