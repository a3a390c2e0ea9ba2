"""Estimate what a run takes, in seconds and bytes, from its lengths, a sample of its input and rates that were measured on the device."""
