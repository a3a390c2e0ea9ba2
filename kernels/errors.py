"""What can go wrong on a device."""


class KernelError(RuntimeError):
    """A kernel that does not compile or launch: a bug, or a device too old."""


class DeviceLimit(RuntimeError):
    """A shape that does not fit this device: the launcher answers with the next variant, or the host."""
