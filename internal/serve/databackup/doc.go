// Package databackup copies the folder for data that is kept (--data) into one
// archive, while programs write to the folder, checks such archives and folders, and
// restores them.
//
// An archive is a tar file, compressed by zstd:
//
//	sotto-data.json   the version of the archive, the format of the folder, who wrote it and when
//	data/NAME         each file of the folder, in the order of the names
//	manifest.jsonl    a line for each file: its name, part, format, size, time and SHA-256
//
// The manifest is last, because only then is known what was copied. An archive without
// it is not whole. The manifest finds damage. It proves nothing against somebody who
// can write a new archive.
//
// # What is copied how
//
// Each part is consistent in itself. Parts are copied one after another, a record
// before the memories of its runs: a memory may be ahead of its record, and not behind.
//
//   - The last segment of a record, a conversation and the memory of a run grow at
//     their end. They are copied up to the last whole line.
//   - Tasks (bbolt) are copied by a read transaction: of this process, or, while a
//     server has the file open, of that server (see [Serve]).
//   - A memory of solved problems (SQLite) is copied by VACUUM INTO, which reads at one
//     moment.
//   - Other files are replaced as a whole by who writes them, and copied as they are.
//
// Locks, sockets, logs of SQLite and files that are half written are left out.
//
// # Security
//
// An archive holds thoughts, conversations, the credentials that clients gave for
// pushes, and the keys of certificates that the gateway obtained. An archive from elsewhere is hostile: [Restore] bounds the number, the names
// and the sizes of its files, writes only below a new folder, and checks each part
// before it takes its place.
package databackup
