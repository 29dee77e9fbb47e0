//go:build unix

package cli

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A passer starts processes as systemd would: with sockets, and with an address at
// which they say how they are.
type passer struct {
	t      *testing.T
	files  []*os.File
	names  string
	told   *net.UnixConn
	notify string
}

// pass opens a socket of each kind for the processes: tcp, udp or unix. Its unit has
// given it a name.
func pass(t *testing.T, names string, kinds ...string) *passer {
	t.Helper()
	p := &passer{t: t, names: names, notify: filepath.Join(t.TempDir(), "notify")}
	for _, kind := range kinds {
		var file *os.File
		var err error
		switch kind {
		case "udp":
			c, e := net.ListenUDP(kind, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
			if e != nil {
				t.Fatal(e)
			}
			file, err = c.File()
			c.Close()
		case "unix":
			l, e := net.ListenUnix(kind, &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s")})
			if e != nil {
				t.Fatal(e)
			}
			file, err = l.File()
			l.Close()
		default:
			l, e := net.ListenTCP(kind, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
			if e != nil {
				t.Fatal(e)
			}
			file, err = l.File()
			l.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		p.files = append(p.files, file)
		t.Cleanup(func() { file.Close() })
	}
	var err error
	if p.told, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: p.notify}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.told.Close() })
	return p
}

// address returns the address of a socket.
func (p *passer) address(i int) string {
	p.t.Helper()
	l, err := net.FileListener(p.files[i])
	if err != nil {
		p.t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start starts sotto serve with the sockets.
func (p *passer) start(stderr io.Writer, args ...string) *exec.Cmd {
	p.t.Helper()
	// Only the shell knows the number of the process before it begins.
	cmd := exec.Command("sh", append([]string{"-c", `LISTEN_PID=$$ exec sotto serve --scripted-listen=127.0.0.1:0 "$@"`, "sh"}, args...)...)
	cmd.Env = append(os.Environ(), "LISTEN_FDS="+strconv.Itoa(len(p.files)), "LISTEN_FDNAMES="+p.names, "NOTIFY_SOCKET="+p.notify, "SOTTO_DATA_DIR="+p.t.TempDir())
	cmd.ExtraFiles, cmd.Stderr = p.files, stderr
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// hears waits until a process says something.
func (p *passer) hears(want string) {
	p.t.Helper()
	_ = p.told.SetReadDeadline(time.Now().Add(time.Minute))
	for data := make([]byte, 4096); ; {
		n, err := p.told.Read(data)
		if err != nil {
			p.t.Fatalf("%s did not come: %v", want, err)
		}
		if strings.Contains("\n"+string(data[:n])+"\n", "\n"+want+"\n") {
			return
		}
	}
}

// TestServeSockets: the gateway and its console listen on the sockets of systemd, and
// tell it when they are ready and when they stop. A client that comes after the old
// process has stopped and before the next one runs waits, and is answered.
func TestServeSockets(t *testing.T) {
	p := pass(t, "console:gateway", "tcp", "tcp")
	console, front := p.address(0), p.address(1)
	args := []string{"--console", "--listen=127.0.0.1:1", "--console-listen=127.0.0.1:1", "--scripted-pause=0s"}
	first := p.start(nil, args...)
	p.hears("READY=1")
	for _, url := range []string{"http://" + front + "/readyz", "http://" + console + "/chat"} {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", url, resp.Status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.hears("STOPPING=1")
	if err := first.Wait(); err != nil {
		t.Error(err)
	}
	answered := make(chan error, 1)
	conn, err := net.Dial("tcp", front) // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /readyz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", front)
	go func() {
		data, err := io.ReadAll(conn)
		if err == nil && !strings.HasSuffix(string(data), "\r\n\r\nready\n") {
			err = fmt.Errorf("%q", data)
		}
		answered <- err
	}()
	second := p.start(nil, args...)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	_ = second.Process.Signal(syscall.SIGTERM)
	if err := second.Wait(); err != nil {
		t.Error(err)
	}
}

// TestServeSocketsRefused: a socket that the gateway cannot use is refused by its name,
// and so is one that would let other machines in without a token.
func TestServeSocketsRefused(t *testing.T) {
	for _, tt := range []struct {
		names string
		kinds []string
		want  string
	}{
		{"web", []string{"tcp"}, `a socket that was passed is called "web"`},
		{"sotto.socket:sotto.socket", []string{"tcp", "tcp"}, "two sockets that were passed are those of the gateway"},
		{"console", []string{"tcp"}, "a socket for the console was passed, which is off"},
		{"acme", []string{"tcp"}, "acme-listen is not set"},
		{"gateway", []string{"udp"}, "it does not listen for connections"},
		{"gateway", []string{"unix"}, "it is not a TCP socket"},
	} {
		p := pass(t, tt.names, tt.kinds...)
		var said strings.Builder
		if err := p.start(&said).Wait(); err == nil || !strings.Contains(said.String(), tt.want) {
			t.Errorf("%s %v: %v, %s", tt.names, tt.kinds, err, said.String())
		}
	}
}

// TestServeWatchdog: a gateway that the manager watches says that it is alive, again
// and again.
func TestServeWatchdog(t *testing.T) {
	p := pass(t, "sotto.socket", "tcp")
	t.Setenv("WATCHDOG_USEC", "20000")
	cmd := p.start(nil)
	for range 3 {
		p.hears("WATCHDOG=1")
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	p.hears("STOPPING=1")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
