"""Profiles training steps: the schedule, the output files, Nsight."""
