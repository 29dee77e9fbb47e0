// Command image writes a container image as a tar file in the layout of the OCI, with an
// index of the architectures, and prints the digest of the index. It needs no daemon.
//
//	image -version 1.2.0 -commit HASH -time SECONDS -license LICENSE -out sotto.tar amd64=FILE arm64=FILE
//
// The image holds the program, the certificates of the public authorities, and a folder
// for data; no shell. The same arguments give the same bytes.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// A build is a program for one architecture.
type build struct{ arch, file string }

func main() {
	var d description
	seconds := flag.Int64("time", 0, "the time of the commit, in seconds since 1970")
	out := flag.String("out", "", "the file to write")
	flag.StringVar(&d.version, "version", "", "the version of the program")
	flag.Func("tag", "a tag of the image; repeatable; if there is none, the version", func(tag string) error {
		d.tags = append(d.tags, tag)
		return nil
	})
	flag.StringVar(&d.program, "program", "sotto", "the name of the program")
	flag.StringVar(&d.commit, "commit", "", "the commit that the program is built from")
	flag.StringVar(&d.license, "license", "LICENSE", "the file with the license")
	flag.Parse()
	d.time = time.Unix(*seconds, 0).UTC()
	builds, err := parseBuilds(flag.Args())
	if err != nil || *out == "" || *seconds == 0 {
		fmt.Fprintln(os.Stderr, "usage: image -version VERSION -commit HASH -time SECONDS -out FILE ARCH=PROGRAM...", err)
		os.Exit(2)
	}
	digest, err := write(*out, d, builds)
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	fmt.Println(digest)
}

func parseBuilds(args []string) ([]build, error) {
	var list []build
	for _, arg := range args {
		arch, file, found := strings.Cut(arg, "=")
		if !found {
			return nil, fmt.Errorf("%q is not ARCH=PROGRAM", arg)
		}
		list = append(list, build{arch, file})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no program")
	}
	slices.SortFunc(list, func(a, b build) int { return cmp.Compare(a.arch, b.arch) })
	return list, nil
}

func write(out string, d description, builds []build) (digest string, err error) {
	index, err := d.index(builds)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "image")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if len(d.tags) == 0 {
		d.tags = []string{d.version}
	}
	if err := writeLayout(dir, d.tags, index); err != nil {
		return "", err
	}
	if err := tarFolder(out, dir, d.time); err != nil {
		return "", err
	}
	hash, err := index.Digest()
	return hash.String(), err
}
