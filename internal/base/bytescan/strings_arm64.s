//go:build !purego

#include "textflag.h"
#include "scan_arm64.h"

// BEGIN sets V8 to V11 to quotes, backslashes, the byte in R2, and the last control character;
// R1, the length, to where the last block begins; and R3 to where the first one does.
#define BEGIN \
	VMOVI $34, V8.B16  \
	VMOVI $92, V9.B16  \
	VDUP  R2, V10.B16  \
	VMOVI $31, V11.B16 \
	SUB   $16, R1, R1  \
	MOVD  $0, R3

// SPECIAL sets R5 and R6 to words whose bytes are 0xff where those of V0 are special.
#define SPECIAL \
	VCMEQ V8.B16, V0.B16, V1.B16   \
	VCMEQ V9.B16, V0.B16, V2.B16   \
	VCMEQ V10.B16, V0.B16, V3.B16  \
	VUMIN V11.B16, V0.B16, V4.B16  \
	VCMEQ V4.B16, V0.B16, V4.B16   \
	VORR  V1.B16, V2.B16, V1.B16   \
	VORR  V3.B16, V4.B16, V3.B16   \
	VORR  V1.B16, V3.B16, V1.B16   \
	VMOV  V1.D[0], R5              \
	VMOV  V1.D[1], R6

// func specialNEON(p *byte, n int, also byte) int
TEXT ·specialNEON(SB), NOSPLIT, $0-32
	MOVD  p+0(FP), R0
	MOVD  n+8(FP), R1
	MOVBU also+16(FP), R2
	BEGIN

block:
	ADD  R0, R3, R4
	VLD1 (R4), [V0.B16]
	SPECIAL
	CBNZ R5, low
	CBNZ R6, high
	NEXT(block, none)

none:
	ADD  $16, R3, R3
	MOVD R3, ret+24(FP)
	RET

high:
	ADD  $8, R3, R3
	MOVD R6, R5

low:
	PLACE
	MOVD R3, ret+24(FP)
	RET

// func copyNEON(dst, p *byte, n int, also byte) int
TEXT ·copyNEON(SB), NOSPLIT, $0-40
	MOVD  dst+0(FP), R7
	MOVD  p+8(FP), R0
	MOVD  n+16(FP), R1
	MOVBU also+24(FP), R2
	BEGIN

block:
	ADD  R0, R3, R4
	VLD1 (R4), [V0.B16]
	ADD  R7, R3, R4
	VST1 [V0.B16], (R4)
	SPECIAL
	CBNZ R5, low
	CBNZ R6, high
	NEXT(block, none)

none:
	ADD  $16, R3, R3
	MOVD R3, ret+32(FP)
	RET

high:
	ADD  $8, R3, R3
	MOVD R6, R5

low:
	PLACE
	MOVD R3, ret+32(FP)
	RET
