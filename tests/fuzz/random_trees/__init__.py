"""Random trees of SNodes and what is done to them: made, modelled in Python, written as text."""
