// NEXT goes on at block with the next 16 bytes, or with the last block, which begins at R1. After
// that one it goes to none.
#define NEXT(block, none) \
	CMP  R1, R3         \
	BEQ  none           \
	ADD  $16, R3, R3    \
	CMP  R1, R3         \
	CSEL GT, R1, R3, R3 \
	B    block

// PLACE adds to R3 the place of the first byte of R5 that is set.
#define PLACE \
	RBIT R5, R5        \
	CLZ  R5, R5        \
	ADD  R5>>3, R3, R3
