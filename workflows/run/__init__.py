"""Run stages over workers or in this process: who works, on which device, and what becomes of tasks that die."""
