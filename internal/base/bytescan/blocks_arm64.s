//go:build !purego

#include "textflag.h"
#include "scan_arm64.h"

// IN sets out to the buckets of the bytes in, which it changes: low is the table of low
// nibbles, high that of the high ones, V7 has 15 in each byte.
#define IN(in, low, high, out) \
	VAND  V7.B16, in.B16, out.B16        \
	VTBL  out.B16, [low.B16], out.B16    \
	VUSHR $4, in.B16, in.B16             \
	VTBL  in.B16, [high.B16], in.B16     \
	VAND  in.B16, out.B16, out.B16

// func formsNEON(p *byte, n int, nibbles *[6][16]byte) int
TEXT ·formsNEON(SB), NOSPLIT, $0-32
	MOVD  p+0(FP), R0
	MOVD  n+8(FP), R1
	MOVD  nibbles+16(FP), R2
	VLD1.P 64(R2), [V8.B16, V9.B16, V10.B16, V11.B16]
	VLD1  (R2), [V12.B16, V13.B16]
	VMOVI $15, V7.B16
	VEOR  V6.B16, V6.B16, V6.B16
	SUB   $18, R1, R1 // the last block begins here
	MOVD  $0, R3

block:
	ADD  R0, R3, R4
	VLD1 (R4), [V0.B16]
	IN(V0, V8, V9, V2)
	VMOV V2.D[0], R5
	VMOV V2.D[1], R6
	ORR  R5, R6, R7
	CBZ  R7, next

	// Some byte may be the first of a form: look at those after it.
	ADD  $1, R4, R5
	VLD1 (R5), [V0.B16]
	IN(V0, V10, V11, V3)
	VAND V3.B16, V2.B16, V2.B16
	ADD  $2, R4, R5
	VLD1 (R5), [V0.B16]
	IN(V0, V12, V13, V3)
	VAND V3.B16, V2.B16, V2.B16
	VCMEQ V6.B16, V2.B16, V2.B16
	VMOV V2.D[0], R5
	VMOV V2.D[1], R6
	MVN  R5, R5
	MVN  R6, R6
	CBNZ R5, low
	CBNZ R6, high

next:
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

// func fenceNEON(p *byte, n int) int
TEXT ·fenceNEON(SB), NOSPLIT, $0-24
	MOVD  p+0(FP), R0
	MOVD  n+8(FP), R1
	VMOVI $96, V8.B16  // back-ticks
	VMOVI $126, V9.B16 // tildes
	SUB   $18, R1, R1  // the last block begins here
	MOVD  $0, R3

fences:
	ADD   R0, R3, R4
	ADD   $1, R4, R5
	ADD   $2, R4, R6
	VLD1  (R4), [V0.B16]
	VLD1  (R5), [V1.B16]
	VLD1  (R6), [V2.B16]
	VCMEQ V8.B16, V0.B16, V3.B16
	VCMEQ V8.B16, V1.B16, V4.B16
	VCMEQ V8.B16, V2.B16, V5.B16
	VAND  V4.B16, V3.B16, V3.B16
	VAND  V5.B16, V3.B16, V3.B16
	VCMEQ V9.B16, V0.B16, V0.B16
	VCMEQ V9.B16, V1.B16, V1.B16
	VCMEQ V9.B16, V2.B16, V2.B16
	VAND  V1.B16, V0.B16, V0.B16
	VAND  V2.B16, V0.B16, V0.B16
	VORR  V3.B16, V0.B16, V0.B16
	VMOV  V0.D[0], R5
	VMOV  V0.D[1], R6
	CBNZ  R5, lowrun
	CBNZ  R6, highrun
	NEXT(fences, nofence)

nofence:
	ADD  $18, R3, R3
	MOVD R3, ret+16(FP)
	RET

highrun:
	ADD  $8, R3, R3
	MOVD R6, R5

lowrun:
	PLACE
	MOVD R3, ret+16(FP)
	RET
