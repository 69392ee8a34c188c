"""Faults and attacks that `psi serve` and the command line must survive.

A case does something to a real process that lives in a memory cgroup, while another caller asks for predictions. trial.py
judges what happened, page.py writes docs/faults.md, and soak.py runs the attacks beside a long load.
"""
