# Substitution scores of UCSC's alignments of primates (BLASTZ_Q of their DEF files).
     A    C    G    T
A   90 -330 -236 -356
C -330  100 -318 -236
G -236 -318  100 -330
T -356 -236 -330   90
