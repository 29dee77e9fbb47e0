// Package recordship copies records to object storage, and reads them from there.
//
// The objects of a record are below its identity, so that the records of several
// replicas share a prefix:
//
//	ID/heads/DOWN-SEQ-DIGEST                        where the record ended at a step; the newest is listed first
//	ID/parts/FIRST/FROM-SIZE-SHA256.jsonl.zst       whole lines of the segment that grows, from a place in it
//	ID/segments/FIRST-LAST-SIZE-SHA256.jsonl.zst    a segment that does not grow any more
//	ID/sidecars/FIRST-LAST-SIZE-SHA256.sidecar      the sidecar of the segment that has the same numbers
//	ID/merged/FIRST-LAST-SIZE-SHA256.sidecar        a sidecar of several segments together
//	ID/tombstones/FIRST-LAST-SIZE-SHA256.pruned     the tombstone of a segment that was pruned
//
// Numbers have 20 digits. DOWN is 2^64-1 less SEQ. SIZE and SHA256 are of the plain
// bytes; those of a merged sidecar are of its segments together, the sum of their sizes and the
// SHA-256 of their SHA-256. So a name follows from what the object holds: an object that was shipped
// twice is there once, and one that was changed does not fit its name. Segments and
// parts are compressed by zstd, segments in frames that can be read one by one. A sidecar
// has a cover, which says where the frames are: see package sidecar.
package recordship

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/record"
)

const (
	headsFolder    = "heads/"
	partsFolder    = "parts/"
	segmentsFolder = "segments/"
	stonesFolder   = "tombstones/"
	sidecarsFolder = "sidecars/"
	mergedFolder   = "merged/"
)

var (
	idPattern    = lazyregexp.New(`^[0-9a-f]{32}$`)
	wholePattern = lazyregexp.New(`^(segments|tombstones|sidecars|merged)/([0-9]{20})-([0-9]{20})-([0-9]{20})-([0-9a-f]{64})\.(jsonl\.zst|pruned|sidecar)$`)
	partPattern  = lazyregexp.New(`^parts/([0-9]{20})/([0-9]{20})-([0-9]{20})-([0-9a-f]{64})\.jsonl\.zst$`)
	headPattern  = lazyregexp.New(`^heads/([0-9]{20})-([0-9]{20})-([0-9a-f]{64})$`)
)

// A content is what a name says about an object of a record.
type content struct {
	name        string // below the record's identity
	first, last uint64 // the events of a segment or tombstone; first is the segment of a part
	from        int64  // of a part: its place in the segment
	size        int64
	digest      [sha256.Size]byte
	stored      int64 // bytes of the object
}

// segmentNamed, stoneNamed, partNamed and headNamed make the names.
func segmentNamed(first, last uint64, size int64, digest [sha256.Size]byte) string {
	return fmt.Sprintf("%s%020d-%020d-%020d-%x.jsonl.zst", segmentsFolder, first, last, size, digest)
}

func stoneNamed(first, last uint64, data []byte) string {
	return fmt.Sprintf("%s%020d-%020d-%020d-%x.pruned", stonesFolder, first, last, len(data), sha256.Sum256(data))
}

func partNamed(first uint64, from int64, data []byte) string {
	return fmt.Sprintf("%s%020d/%020d-%020d-%x.jsonl.zst", partsFolder, first, from, len(data), sha256.Sum256(data))
}

func headNamed(h record.Head) string {
	return fmt.Sprintf("%s%020d-%020d-%s", headsFolder, math.MaxUint64-h.Seq, h.Seq, h.Digest)
}

// sidecarNamed makes the name of the sidecar of a segment from that of the segment.
func sidecarNamed(segment string) string {
	return sidecarsFolder + strings.TrimSuffix(strings.TrimPrefix(segment, segmentsFolder), ".jsonl.zst") + ".sidecar"
}

// mergedNamed makes the name of a merged sidecar.
func mergedNamed(first, last uint64, size int64, digest [sha256.Size]byte) string {
	return fmt.Sprintf("%s%020d-%020d-%020d-%x.sidecar", mergedFolder, first, last, size, digest)
}

// segmentName is the name of the segment of a sidecar.
func (c content) segmentName() string {
	return segmentsFolder + strings.TrimSuffix(strings.TrimPrefix(c.name, sidecarsFolder), ".sidecar") + ".jsonl.zst"
}

// extensions are those of the objects that have whole files.
var extensions = map[string]string{"segments": "jsonl.zst", "tombstones": "pruned", "sidecars": "sidecar", "merged": "sidecar"}

// readWhole reads the name of a segment, a tombstone, or a sidecar of one segment or more.
func readWhole(name string) (c content, ok bool) {
	m := wholePattern.FindStringSubmatch(name)
	if m == nil || extensions[m[1]] != m[6] {
		return c, false
	}
	c.name = name
	first, err1 := strconv.ParseUint(m[2], 10, 64)
	last, err2 := strconv.ParseUint(m[3], 10, 64)
	size, err3 := strconv.ParseInt(m[4], 10, 64)
	c.first, c.last, c.size = first, last, size
	_, err4 := hex.Decode(c.digest[:], []byte(m[5]))
	return c, err1 == nil && err2 == nil && err3 == nil && err4 == nil && first > 0 && last >= first
}

// readPart reads the name of a part.
func readPart(name string) (c content, ok bool) {
	m := partPattern.FindStringSubmatch(name)
	if m == nil {
		return c, false
	}
	c.name = name
	first, err1 := strconv.ParseUint(m[1], 10, 64)
	from, err2 := strconv.ParseInt(m[2], 10, 64)
	size, err3 := strconv.ParseInt(m[3], 10, 64)
	c.first, c.from, c.size = first, from, size
	_, err4 := hex.Decode(c.digest[:], []byte(m[4]))
	return c, err1 == nil && err2 == nil && err3 == nil && err4 == nil && first > 0 && size > 0 && from <= math.MaxInt64-size
}

// readHead reads the name of a head.
func readHead(name string) (h record.Head, ok bool) {
	m := headPattern.FindStringSubmatch(name)
	if m == nil {
		return h, false
	}
	err := h.UnmarshalText([]byte(strings.TrimLeft(m[2], "0") + ":" + m[3]))
	return h, err == nil && name == headNamed(h)
}

// under returns a prefix that ends with a slash, or "".
func under(prefix string) string {
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return prefix
}
