// Package jsonedit edits JSON in place. It says where the members and texts of a
// value are, and writes changes over them, so that all other bytes stay as they
// came: unknown members, the order of keys, the spelling of numbers. It reads JSON
// that was checked before, for example by package foreignjson.
package jsonedit
