package sidecar

import (
	"cmp"
	"crypto/sha256"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/record"
)

// UncoverMerged opens a merged sidecar with its cover, and the segments that it is of, one after
// the other. digest is their [MergedDigest].
func UncoverMerged(side Object, stored []Object, sizes []int64, digest [sha256.Size]byte) (segments, sidecar Part, err error) {
	total := int64(0)
	for _, n := range sizes {
		total += n
	}
	r := &ranged{Object: side}
	c, at, err := readCover(r, digest, total)
	if err != nil {
		return Part{}, Part{}, err
	}
	words := strings.Fields(c.Frames)
	var all inTurn
	end := int64(0)
	for i, n := range sizes {
		frames := int((n + FrameSize - 1) / FrameSize)
		if frames > len(words) {
			return Part{}, Part{}, errStale
		}
		one := cover{Size: n, Frames: strings.Join(words[:frames], " ")}
		words = words[frames:]
		ends, ok := one.ends(stored[i].Size)
		if !ok {
			return Part{}, Part{}, fs.ErrNotExist
		}
		end += n
		all = append(all, joint{&framed{object: stored[i], size: n, ends: ends}, end - n, end})
	}
	return Part{all, total}, Part{io.NewSectionReader(r, at, side.Size-at), side.Size - at}, nil
}

// A joint is a segment among others, and where it begins and ends.
type joint struct {
	io.ReaderAt
	from, to int64
}

// inTurn reads segments as if they were one.
type inTurn []joint

func (j inTurn) ReadAt(p []byte, off int64) (int, error) {
	i, _ := slices.BinarySearchFunc(j, off+1, func(x joint, at int64) int { return cmp.Compare(x.to, at) })
	done := 0
	for ; i < len(j) && done < len(p); i++ {
		some := p[done:min(int64(len(p)), int64(done)+j[i].to-off)]
		n, err := j[i].ReadAt(some, off-j[i].from)
		done, off = done+n, off+int64(n)
		if n < len(some) {
			return done, err
		}
	}
	return done, eofIf(done < len(p))
}

// FramesOf returns the frames of a segment with a SHA-256 and a size, as the cover of its sidecar
// has them. It is nil if the cover is not of the segment, or if there are none.
func FramesOf(side, stored Object, digest [sha256.Size]byte, size int64) (frames []int) {
	c, _, err := readCover(&ranged{Object: side}, digest, size)
	if err != nil {
		return nil
	}
	if _, ok := c.ends(stored.Size); !ok {
		return nil
	}
	for word := range strings.FieldsSeq(c.Frames) {
		n, _ := strconv.Atoi(word) // ends has read it
		frames = append(frames, n)
	}
	return frames
}

// Beside opens the sidecar beside a segment, if it is of all its lines.
func Beside(f record.File) (side Part, done io.Closer, err error) {
	data, err := f.Open()
	if err != nil {
		return Part{}, nil, err
	}
	defer data.Close()
	info, err := data.Stat()
	if err != nil {
		return Part{}, nil, err
	}
	r, n, err := openSide(f)
	if err != nil {
		return Part{}, nil, err
	}
	if !fitsAll(r, n, data, info.Size(), f.First) {
		r.Close()
		return Part{}, nil, fs.ErrNotExist
	}
	return Part{r, n}, r, nil
}
