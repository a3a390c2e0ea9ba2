// What the kernels of pairs say of a pair and of its operations (device.py reads the first, BAM has the second).
#pragma once

enum Status { ALIGNED = 0, OUTGROWN = 1, NO_ROOM = 2, BOUNDED = 3, OTHER_LETTERS = 4, TOO_LONG = 5 };
enum Op { OP_I = 1, OP_D = 2, OP_EQUAL = 7, OP_X = 8, OP_GOES_ON = 16 };  // BAM's codes; the flag: the gap began earlier
