package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sotto-llm/sotto/_benchmark/internal/traffic"
)

// nginxConf is nginx as a proxy that buffers nothing, in one process.
const nginxConf = `
daemon off;
master_process off;
worker_rlimit_nofile 20000;
pid %[1]s/pid;
error_log stderr error;
events { worker_connections 20000; }
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	upstream model { server %[2]s; keepalive 512; }
	server {
		listen %[3]s;
		client_body_buffer_size 1m;
		location / {
			proxy_pass http://model;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_buffering off;
		}
	}
}
`

// startNginx starts nginx before an upstream.
func startNginx(path, upstream string) (*traffic.Process, error) {
	dir, err := os.MkdirTemp("", "load-nginx")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	l.Close()
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, dir, upstream, addr), 0o600); err != nil {
		return nil, err
	}
	p := &traffic.Process{Name: "nginx", Addr: addr, Cmd: exec.Command(path, "-c", conf, "-p", dir), End: func(c *exec.Cmd) {
		_ = c.Process.Signal(syscall.SIGTERM)
	}, Dir: dir}
	p.Cmd.Stderr = os.Stderr
	if err := p.Cmd.Start(); err != nil {
		return nil, err
	}
	for range 500 { // until it listens
		c, err := net.Dial("tcp", addr)
		if err == nil {
			return p, c.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.Stop()
	return nil, fmt.Errorf("nginx does not listen on %s", addr)
}
