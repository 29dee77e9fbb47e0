//go:build !unix

package databackup

const nonBlock = 0
