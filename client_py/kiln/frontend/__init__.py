"""The Python front end: evaluates a kernel's syntax tree on the fly, static
parts by Python, and emits the rest through the native Builder.
"""
