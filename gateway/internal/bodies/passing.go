package bodies

import "io"

// Pass returns a body that passes unread.
func Pass(body io.ReadCloser, a *Activity) io.ReadCloser { return &passing{body, a} }

// A passing body notes whom the exchange waits for: the upstream while the body is
// being read, and else the client.
type passing struct {
	io.ReadCloser
	*Activity
}

func (b *passing) Read(p []byte) (int, error) {
	b.Moved(true)
	n, err := b.ReadCloser.Read(p)
	b.Moved(false)
	return n, err
}

// WatchBoth returns an upgraded connection whose both sides are watched.
func WatchBoth(conn io.ReadWriteCloser, a *Activity) io.ReadWriteCloser {
	return &watchedConn{conn, a}
}

// A watchedConn is an upgraded connection. It waits for both sides.
type watchedConn struct {
	io.ReadWriteCloser
	*Activity
}

func (b *watchedConn) Read(p []byte) (int, error) {
	n, err := b.ReadWriteCloser.Read(p)
	b.Moved(true)
	return n, err
}

func (b *watchedConn) Write(p []byte) (int, error) {
	n, err := b.ReadWriteCloser.Write(p)
	b.Moved(true)
	return n, err
}
