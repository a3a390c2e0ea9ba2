// Which way a cell of the gap models came, and operations, as the host numbers them (kernels/runtime/vectors.py, BAM).
#pragma once

// Bit 2 + source of a direction byte: that gap was opened here.
enum Source { FROM_X = 0, FROM_I1 = 1, FROM_D1 = 2, FROM_I2 = 3, FROM_D2 = 4 };
enum Op { OP_I = 1, OP_D = 2, OP_EQUAL = 7, OP_X = 8, OP_GOES_ON = 16 };  // BAM's codes; the flag: the gap began earlier
