// Package conversations is the codec of the conversations of Mistral's API: POST /v1/conversations, to begin one, and
// POST …/{id} and …/{id}/restart, to continue it.
//
// A reply is a list of outputs: messages of the model, calls of functions, and what the provider's own tools did. The
// content of a message is a text, or a list of chunks, of which some are thoughts. A stream has an event for each piece, by
// the indices of the output and of the content; neither begins or ends. All texts of a message are read as one text. If a
// thought stands in it, that becomes a content of its own, and the indices of the contents after it shift. A call that the
// model wrote into its text becomes an output of its own, and the indices of the outputs after it shift.
//
// # The model
//
// A request that continues a conversation names no model, and neither does one that begins a conversation with an agent.
// The reply names it ([wire.ModelNamer]).
//
// # The end
//
// A reply says no reason for its end. It is taken for one that a limit has cut if it has as many tokens as the request
// allows, and for one that stopped otherwise.
//
// # Lists
//
// The entries and the messages of a stored conversation are read as a whole reply is. What the client sent stays as it is.
package conversations
