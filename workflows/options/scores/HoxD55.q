# HOXD55, of UCSC's alignments of distant species.
     A    C    G    T
A   91  -90  -25 -100
C  -90  100 -100  -25
G  -25 -100  100  -90
T -100  -25  -90   91
