//go:build !purego

#include "textflag.h"
#include "scan_amd64.h"

DATA quote<>+0(SB)/8, $0x2222222222222222
GLOBL quote<>(SB), RODATA|NOPTR, $8
DATA backslash<>+0(SB)/8, $0x5c5c5c5c5c5c5c5c
GLOBL backslash<>(SB), RODATA|NOPTR, $8
DATA control<>+0(SB)/8, $0x1f1f1f1f1f1f1f1f
GLOBL control<>(SB), RODATA|NOPTR, $8

// BEGIN sets Y8, Y9 and Y11 to quotes, backslashes and the last control character; CX, the
// length, to where the last block begins; and BX to where the first one does.
#define BEGIN \
	VPBROADCASTQ quote<>(SB), Y8     \
	VPBROADCASTQ backslash<>(SB), Y9 \
	VPBROADCASTQ control<>(SB), Y11  \
	XORQ         BX, BX              \
	SUBQ         $32, CX

// SPECIAL sets AX to the bits of the bytes in Y0 that are special.
#define SPECIAL \
	VPCMPEQB  Y8, Y0, Y1  \
	VPCMPEQB  Y9, Y0, Y2  \
	VPCMPEQB  Y10, Y0, Y3 \
	VPMINUB   Y11, Y0, Y4 \
	VPCMPEQB  Y4, Y0, Y4  \
	VPOR      Y1, Y2, Y1  \
	VPOR      Y3, Y4, Y3  \
	VPOR      Y1, Y3, Y1  \
	VPMOVMSKB Y1, AX

// func specialAVX2(p *byte, n int, also byte) int
TEXT ·specialAVX2(SB), NOSPLIT, $0-32
	MOVQ         p+0(FP), SI
	MOVQ         n+8(FP), CX
	VPBROADCASTB also+16(FP), Y10
	BEGIN

block:
	VMOVDQU (SI)(BX*1), Y0
	SPECIAL
	TESTL   AX, AX
	JNZ     found
	NEXT($32, block, none)

none:
	ADDQ $32, BX
	MOVQ BX, ret+24(FP)
	VZEROUPPER
	RET

found:
	BSFL AX, AX
	ADDQ BX, AX
	MOVQ AX, ret+24(FP)
	VZEROUPPER
	RET

// func copyAVX2(dst, p *byte, n int, also byte) int
TEXT ·copyAVX2(SB), NOSPLIT, $0-40
	MOVQ         dst+0(FP), DI
	MOVQ         p+8(FP), SI
	MOVQ         n+16(FP), CX
	VPBROADCASTB also+24(FP), Y10
	BEGIN

block:
	VMOVDQU (SI)(BX*1), Y0
	VMOVDQU Y0, (DI)(BX*1)
	SPECIAL
	TESTL   AX, AX
	JNZ     found
	NEXT($32, block, none)

none:
	ADDQ $32, BX
	MOVQ BX, ret+32(FP)
	VZEROUPPER
	RET

found:
	BSFL AX, AX
	ADDQ BX, AX
	MOVQ AX, ret+32(FP)
	VZEROUPPER
	RET
