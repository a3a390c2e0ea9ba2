"""What can go wrong on a device."""


class KernelError(RuntimeError):
    """A kernel that does not compile, launch or end. After one that failed while running, the device is of no use to this process: replace it."""


class DeviceLimit(RuntimeError):
    """A shape that does not fit this device: the launcher answers with the next variant, or the host."""
