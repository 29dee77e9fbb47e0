// Package chatjson reads and writes the JSON that several chat APIs share: messages,
// what a choice says in a frame or a body, tool calls in pieces, the members that
// turn thinking on or off. The codecs of package wire are built with it.
package chatjson
