package shards

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/sotto-llm/sotto/internal/base/decompress"
)

// FrameLines are the lines of a compressed file of which a shard has a part: the frames of
// zstd, or the members of gzip, that begin there. A line belongs to the frame that has the
// byte before it, and the first line to the first frame. So a shard passes over the text up
// to the first line end in its frames, and reads on after them to the next one. Where the
// frames begin is not written in the file. A shard looks for the first one in its part; the
// shard before it decompresses up to there, so it knows, and looks as well: if it does not
// find the same, it fails. So the shards have each line once, or one of them fails, whatever
// the file holds.
type FrameLines struct {
	open   func(from int64) (io.ReadCloser, error)
	head   []byte
	from   int64
	to     int64
	size   int64
	file   io.ReadCloser
	frames *decompress.Frames
	begun  bool  // in a frame
	some   bool  // a frame of the part has been read
	skip   bool  // up to the end of a line that begins before the part
	own    bool  // the frames are those of the part
	done   bool  // all lines have been read
	none   bool  // no frame begins in the part
	at     int64 // bytes of the lines so far
	text   int64 // bytes of the frame so far
	end    int64 // where the last frame of the part ends
	places places
}

// NewFrameLines returns the lines of a part of a compressed file with these first bytes. open
// reads the file from a byte on.
func NewFrameLines(open func(from int64) (io.ReadCloser, error), p Piece, head []byte) (*FrameLines, error) {
	l := &FrameLines{open: open, head: head, from: p.From, to: p.To, size: p.Size, own: true}
	begin := int64(0)
	if l.from > 0 {
		first, err := decompress.FirstFrame(open, head)
		if err != nil {
			return nil, err
		}
		if begin, err = l.find(l.from, l.to); err != nil {
			return nil, err
		}
		l.skip = begin > first
	}
	if begin < 0 {
		l.none, l.done = true, true
		return l, nil
	}
	var err error
	if l.file, err = open(begin); err != nil {
		return nil, err
	}
	l.frames = decompress.NewFrames(l.file, begin, head)
	return l, nil
}

// find looks for the first frame that begins in [from, to).
func (l *FrameLines) find(from, to int64) (int64, error) {
	if from >= min(to, l.size) {
		return -1, nil
	}
	r, err := l.open(from)
	if err != nil {
		return -1, err
	}
	at, err := decompress.FindFrame(r, from, to, l.size, l.head)
	return at, errors.Join(err, r.Close())
}

// Close closes the file.
func (l *FrameLines) Close() error {
	if l.frames == nil {
		return nil
	}
	l.frames.Close()
	return l.file.Close()
}

func (l *FrameLines) Read(p []byte) (int, error) {
	for !l.done && len(p) > 0 {
		if !l.begun {
			if err := l.next(); err != nil {
				return 0, err
			}
			continue
		}
		n, err := l.frames.Read(p)
		if errors.Is(err, io.EOF) {
			l.begun, err = false, nil
		}
		if n = l.lines(p[:n]); n > 0 || err != nil {
			return n, err
		}
	}
	if len(p) == 0 {
		return 0, nil
	}
	return 0, io.EOF
}

// next goes to the next frame.
func (l *FrameLines) next() error {
	at, err := l.frames.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if l.own && (err != nil || at >= l.to) {
		l.own = false
		if l.end = at; err != nil {
			l.end = l.size
		}
		if wrong := l.check(at, err != nil); wrong != nil {
			return wrong
		}
		l.none = !l.some
		l.done = l.none || l.skip
	}
	if err != nil {
		l.done = true
		return nil
	}
	l.some, l.begun, l.text = true, true, 0
	l.places.add(placed{l.at, at, 0})
	return nil
}

// check looks for the first frame after the part, as the shard does that has it, and returns
// an error if it is not the one that there is.
func (l *FrameLines) check(at int64, end bool) error {
	if l.to >= l.size {
		return nil
	}
	want, to := at, at+1
	if end {
		want, to = -1, l.size
	}
	found, err := l.find(l.to, to)
	if err != nil || found == want {
		return err
	}
	return fmt.Errorf("the frames of the file cannot be told apart: one seems to begin at byte %d, and the one after byte %d begins at %d: it cannot be divided into shards, so decompress it, or give it to one shard (0/1)", found, l.to, want)
}

// lines keeps the lines of the part among these bytes of a frame, and returns how many bytes
// they are.
func (l *FrameLines) lines(p []byte) int {
	n := len(p)
	l.text += int64(n)
	i := 0
	if l.skip || !l.own {
		i = bytes.IndexByte(p, '\n') + 1
	}
	switch {
	case l.skip && i == 0:
		return 0
	case l.skip:
		l.skip = false
		n = copy(p, p[i:])
		l.places.from(l.text - int64(n))
	case !l.own && i > 0:
		n, l.done = i, true
	}
	l.at += int64(n)
	return n
}

// Place returns where the line is that begins after so many bytes of the lines: the byte of
// the file at which the frame begins, and the byte in its text.
func (l *FrameLines) Place(offset int64) (frame, text int64) { return l.places.find(offset) }

// Note says what a user should know about how a file was divided, or "".
func (l *FrameLines) Note() string {
	what := "frame of zstd"
	if l.head[0] == 0x1f {
		what = "member of gzip"
	}
	part := l.to - l.from
	switch {
	case l.none:
		return fmt.Sprintf("no %s begins in bytes %d to %d, so another shard has all lines there", what, l.from, l.to)
	case part < l.size && l.end-l.to > part:
		return fmt.Sprintf("a %s reaches from this part to byte %d, so this shard does the work of others, too: files in small frames, as pzstd and bgzip write them, can be divided", what, l.end)
	}
	return ""
}

// places knows where in a file the last lines begin that were read. Lines are processed some
// time after they were read, by several goroutines.
type places struct {
	mu   sync.Mutex
	list []placed
}

// A placed is a byte of the lines, and where in a frame it is.
type placed struct{ at, frame, text int64 }

// maxPlaces bounds the frames that are remembered. Only if frames have some thirty bytes of
// text can a line be in one that is forgotten.
const maxPlaces = 1 << 20

func (p *places) add(one placed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.list); n > 0 && p.list[n-1].at == one.at {
		p.list = p.list[:n-1] // nothing of it was kept
	}
	if len(p.list) >= maxPlaces {
		p.list = slices.Delete(p.list, 0, maxPlaces/2)
	}
	p.list = append(p.list, one)
}

// from says that the last one is so many bytes into its frame.
func (p *places) from(text int64) {
	p.mu.Lock()
	p.list[len(p.list)-1].text = text
	p.mu.Unlock()
}

func (p *places) find(offset int64) (frame, text int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, exact := slices.BinarySearchFunc(p.list, offset, func(one placed, offset int64) int { return int(one.at - offset) })
	if !exact {
		i--
	}
	one := p.list[max(i, 0)]
	return one.frame, one.text + offset - one.at
}
