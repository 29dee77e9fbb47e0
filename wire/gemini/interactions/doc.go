// Package interactions is the codec of Google's Interactions API: POST /v1beta/interactions.
//
// A reply is a list of steps: thoughts, outputs of the model, calls of tools, and what the provider's own tools did. A
// stream has an event for the beginning, for each piece and for the end of a step, by the step's index. If a text turns out
// to hold reasoning, its step becomes several, in the order of the reading, and the indices of the steps after it
// shift. A call that the model wrote into its text becomes a step of its own.
//
// # Thoughts
//
// A thought step has a summary, which is all that the API says of a thought, and a signature. Google wants the step back with
// its signature. A step without one is taken for Sotto's own. Where reasoning is hidden, the step stays with its signature
// and without its summary. Where a thought goes into the text, its step is left out.
//
// # Requests
//
// The input is a text, a list of contents, or a list of steps. Each step is a message ([wire.Capabilities].Items). A request
// that continues a stored interaction has only what is new.
//
// # What is not read
//
// The API before its steps (contents and roles in replies) is not read. Neither are stored interactions that are fetched,
// such as those of agents that work in the background.
package interactions
