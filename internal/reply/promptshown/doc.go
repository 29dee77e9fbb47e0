// Package promptshown asks a model server how it renders a prompt, and reads from the
// tail of the prompt where the reply begins.
//
// The server renders a short conversation of Sotto's own, with the members of the
// request that control thinking. No text of a request is sent. What the server answers
// is hostile input: it is bounded, read, and dropped.
//
// A rendering shows that a reply begins outside of reasoning only if the server read
// every member that may change the prompt. In doubt it shows nothing.
package promptshown
