"""Generates random programs on trees of SNodes, models them in Python, and writes them as text."""
