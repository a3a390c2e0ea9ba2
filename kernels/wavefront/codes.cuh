// What the kernels of pairs say of a pair (device.py).
#pragma once

enum Status { ALIGNED = 0, OUTGROWN = 1, NO_ROOM = 2, BOUNDED = 3, OTHER_LETTERS = 4, TOO_LONG = 5, ABOVE = 6 };
