//go:build !purego

#include "textflag.h"
#include "scan_amd64.h"

DATA nibble<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL nibble<>(SB), RODATA|NOPTR, $8
DATA tick<>+0(SB)/8, $0x6060606060606060
GLOBL tick<>(SB), RODATA|NOPTR, $8
DATA tilde<>+0(SB)/8, $0x7e7e7e7e7e7e7e7e
GLOBL tilde<>(SB), RODATA|NOPTR, $8

DATA line<>+0(SB)/8, $0x0a0a0a0a0a0a0a0a
GLOBL line<>(SB), RODATA|NOPTR, $8

// func detectAVX2() bool
TEXT ·detectAVX2(SB), NOSPLIT, $0-1
	MOVB $0, ret+0(FP)
	XORL AX, AX
	XORL CX, CX
	CPUID
	CMPL AX, $7
	JLT  no
	MOVL $1, AX
	XORL CX, CX
	CPUID
	ANDL $0x18000000, CX // OSXSAVE and AVX
	CMPL CX, $0x18000000
	JNE  no
	XORL CX, CX
	XGETBV
	ANDL $6, AX // the system saves XMM and YMM
	CMPL AX, $6
	JNE  no
	MOVL $7, AX
	XORL CX, CX
	CPUID
	ANDL $0x20, BX // AVX2
	JZ   no
	MOVB $1, ret+0(FP)
no:
	RET

// NIBBLES sets Y8 to Y13 to the tables at DX, Y7 to 15 in each byte, and Y6 to 0.
#define NIBBLES \
	VBROADCASTI128 (DX), Y8         \
	VBROADCASTI128 16(DX), Y9       \
	VBROADCASTI128 32(DX), Y10      \
	VBROADCASTI128 48(DX), Y11      \
	VBROADCASTI128 64(DX), Y12      \
	VBROADCASTI128 80(DX), Y13      \
	VPBROADCASTQ   nibble<>(SB), Y7 \
	VPXOR          Y6, Y6, Y6

// IN sets out to the buckets of the bytes in: low is the table of low nibbles, high that of
// the high ones, Y7 has 15 in each byte.
#define IN(in, low, high, tmp, out) \
	VPAND   Y7, in, out    \
	VPSHUFB out, low, out  \
	VPSRLW  $4, in, tmp    \
	VPAND   Y7, tmp, tmp   \
	VPSHUFB tmp, high, tmp \
	VPAND   tmp, out, out

// func formsAVX2(p *byte, n int, nibbles *[6][16]byte) int
TEXT ·formsAVX2(SB), NOSPLIT, $0-32
	MOVQ           p+0(FP), SI
	MOVQ           n+8(FP), CX
	MOVQ           nibbles+16(FP), DX
	NIBBLES
	XORQ           BX, BX
	SUBQ           $66, CX // the last block begins here

block:
	VMOVDQU (SI)(BX*1), Y0
	VMOVDQU 32(SI)(BX*1), Y1
	IN(Y0, Y8, Y9, Y4, Y2)
	IN(Y1, Y8, Y9, Y4, Y3)
	VPOR    Y2, Y3, Y4
	VPTEST  Y4, Y4
	JZ      next

	// Some byte may be the first of a form: look at those after it.
	VMOVDQU  1(SI)(BX*1), Y0
	VMOVDQU  33(SI)(BX*1), Y1
	IN(Y0, Y10, Y11, Y4, Y5)
	VPAND    Y5, Y2, Y2
	IN(Y1, Y10, Y11, Y4, Y5)
	VPAND    Y5, Y3, Y3
	VMOVDQU  2(SI)(BX*1), Y0
	VMOVDQU  34(SI)(BX*1), Y1
	IN(Y0, Y12, Y13, Y4, Y5)
	VPAND    Y5, Y2, Y2
	IN(Y1, Y12, Y13, Y4, Y5)
	VPAND    Y5, Y3, Y3
	VPCMPEQB Y6, Y2, Y2
	VPCMPEQB Y6, Y3, Y3
	VPMOVMSKB Y2, AX
	VPMOVMSKB Y3, DX
	SHLQ     $32, DX
	ORQ      DX, AX
	NOTQ     AX
	TESTQ    AX, AX
	JNZ      found

next:
	NEXT($64, block, none)

none:
	ADDQ $64, BX
	MOVQ BX, ret+24(FP)
	VZEROUPPER
	RET

found:
	BSFQ AX, AX
	ADDQ BX, AX
	MOVQ AX, ret+24(FP)
	VZEROUPPER
	RET

// func formsFewAVX2(p *byte, n int, nibbles *[6][16]byte) int
TEXT ·formsFewAVX2(SB), NOSPLIT, $0-32
	MOVQ           p+0(FP), SI
	MOVQ           n+8(FP), CX
	MOVQ           nibbles+16(FP), DX
	VBROADCASTI128 (DX), Y8
	VBROADCASTI128 16(DX), Y9
	VPBROADCASTQ   nibble<>(SB), Y7
	VPXOR          Y6, Y6, Y6
	XORQ           BX, BX
	SUBQ           $34, CX // the second block begins here, or the only one

few:
	VMOVDQU (SI)(BX*1), Y0
	IN(Y0, Y8, Y9, Y4, Y2)
	VPTEST  Y2, Y2
	JZ      nextfew
	VBROADCASTI128 32(DX), Y10
	VBROADCASTI128 48(DX), Y11
	VBROADCASTI128 64(DX), Y12
	VBROADCASTI128 80(DX), Y13
	VMOVDQU  1(SI)(BX*1), Y0
	IN(Y0, Y10, Y11, Y4, Y5)
	VPAND    Y5, Y2, Y2
	VMOVDQU  2(SI)(BX*1), Y0
	IN(Y0, Y12, Y13, Y4, Y5)
	VPAND    Y5, Y2, Y2
	VPCMPEQB Y6, Y2, Y2
	VPMOVMSKB Y2, AX
	XORL     $-1, AX
	JNZ      foundfew

nextfew:
	CMPQ BX, CX
	JEQ  nonefew
	MOVQ CX, BX
	JMP  few

nonefew:
	ADDQ $32, BX
	MOVQ BX, ret+24(FP)
	VZEROUPPER
	RET

foundfew:
	BSFL AX, AX
	ADDQ BX, AX
	MOVQ AX, ret+24(FP)
	VZEROUPPER
	RET

// PLACES sets out to the bits of the bytes with a value: of Y0, and from bit CX on, of Y1.
#define PLACES(value, out) \
	VPBROADCASTQ value<>(SB), Y2 \
	VPCMPEQB     Y2, Y0, Y3      \
	VPCMPEQB     Y2, Y1, Y4      \
	VPMOVMSKB    Y3, AX          \
	VPMOVMSKB    Y4, R8          \
	SHLQ         CX, R8          \
	ORQ          R8, AX          \
	MOVQ         AX, out

// CODE sets the masks of code at DI.
#define CODE \
	PLACES(tick, (DI))   \
	PLACES(tilde, 8(DI)) \
	PLACES(line, 16(DI))

// func codeAVX2(p *byte, n int, m *CodeMasks)
TEXT ·codeAVX2(SB), NOSPLIT, $0-24
	MOVQ         p+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVQ         m+16(FP), DI
	SUBQ         $32, CX // the second 32 bytes begin here; they overlap the first
	VMOVDQU      (SI), Y0
	VMOVDQU      (SI)(CX*1), Y1
	CODE
	VZEROUPPER
	RET

// func masksAVX2(p *byte, n int, nibbles *[6][16]byte, m *Masks)
TEXT ·masksAVX2(SB), NOSPLIT, $0-32
	MOVQ           p+0(FP), SI
	MOVQ           n+8(FP), CX
	MOVQ           nibbles+16(FP), DX
	MOVQ           m+24(FP), DI
	NIBBLES
	SUBQ           $32, CX // the second 32 bytes begin here; they overlap the first
	VMOVDQU        (SI), Y0
	VMOVDQU        (SI)(CX*1), Y1
	CODE

	// The forms in the first 32 bytes, and in 32 that end two bytes before the end.
	IN(Y0, Y8, Y9, Y4, Y2)
	VMOVDQU   1(SI), Y0
	IN(Y0, Y10, Y11, Y4, Y5)
	VPAND     Y5, Y2, Y2
	VMOVDQU   2(SI), Y0
	IN(Y0, Y12, Y13, Y4, Y5)
	VPAND     Y5, Y2, Y2
	IN(Y1, Y12, Y13, Y4, Y3)
	VMOVDQU   -1(SI)(CX*1), Y1
	IN(Y1, Y10, Y11, Y4, Y5)
	VPAND     Y5, Y3, Y3
	VMOVDQU   -2(SI)(CX*1), Y1
	IN(Y1, Y8, Y9, Y4, Y5)
	VPAND     Y5, Y3, Y3
	VPCMPEQB  Y6, Y2, Y2
	VPCMPEQB  Y6, Y3, Y3
	VPMOVMSKB Y2, AX
	VPMOVMSKB Y3, R8
	XORL      $-1, AX
	XORL      $-1, R8
	SUBQ      $2, CX
	SHLQ      CX, R8
	ORQ       R8, AX
	MOVQ      AX, 24(DI)
	VZEROUPPER
	RET

// func fenceAVX2(p *byte, n int) int
TEXT ·fenceAVX2(SB), NOSPLIT, $0-24
	MOVQ         p+0(FP), SI
	MOVQ         n+8(FP), CX
	VPBROADCASTQ tick<>(SB), Y8
	VPBROADCASTQ tilde<>(SB), Y9
	XORQ         BX, BX
	SUBQ         $64, CX // the last block begins here

fences:
	VMOVDQU   (SI)(BX*1), Y0
	VMOVDQU   32(SI)(BX*1), Y1
	VPCMPEQB  Y8, Y0, Y2
	VPCMPEQB  Y8, Y1, Y3
	VPCMPEQB  Y9, Y0, Y4
	VPCMPEQB  Y9, Y1, Y5
	VPMOVMSKB Y2, AX
	VPMOVMSKB Y3, DX
	SHLQ      $32, DX
	ORQ       DX, AX // the back-ticks
	VPMOVMSKB Y4, R8
	VPMOVMSKB Y5, DX
	SHLQ      $32, DX
	ORQ       DX, R8 // the tildes
	MOVQ      AX, R9
	SHRQ      $1, R9
	MOVQ      AX, R10
	SHRQ      $2, R10
	ANDQ      R9, AX
	ANDQ      R10, AX
	MOVQ      R8, R9
	SHRQ      $1, R9
	MOVQ      R8, R10
	SHRQ      $2, R10
	ANDQ      R9, R8
	ANDQ      R10, R8
	ORQ       R8, AX
	JNZ       run
	NEXT($62, fences, nofence) // a run may go on in the next block

nofence:
	MOVQ n+8(FP), AX
	MOVQ AX, ret+16(FP)
	VZEROUPPER
	RET

run:
	BSFQ AX, AX
	ADDQ BX, AX
	MOVQ AX, ret+16(FP)
	VZEROUPPER
	RET
