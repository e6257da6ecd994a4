"""`micrograd.watch`: one line around a training loop, which says why it does not learn.

`step.py` is what one step did, `findings.py` what can be wrong with it, and `watch.py` the loop
around the user's loop, which records the one and tells the other.
"""
