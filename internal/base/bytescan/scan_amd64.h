// NEXT goes on at block with the bytes after step more, or with the last block, which begins at
// CX. After that one it goes to none.
#define NEXT(step, block, none) \
	CMPQ    BX, CX   \
	JEQ     none     \
	ADDQ    step, BX \
	CMPQ    BX, CX   \
	CMOVQGT CX, BX   \
	JMP     block
