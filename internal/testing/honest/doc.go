// Package honest attacks the gateway as an ordinary client can: before model servers that
// do what they are asked. It holds tests only.
//
// The servers are scripted. They behave as vLLM, SGLang, llama.cpp and Ollama do: they
// render a chat template, continue the prompt with a thought and an answer, and honour
// stop words, prefills, templates, token ids, switches and limits. Each thought holds
// canaries. [TestAdversary] asks with random parameters over every API, and searches what
// each client got. [TestKnownLeaks] holds the requests that once leaked, by name.
// [TestPrice] counts the opposite fault: replies without a thought that were withheld.
//
// SOTTO_ADVERSARY is how long TestAdversary runs, such as 60s, and
// SOTTO_ADVERSARY_SEED repeats one of its worlds.
package honest
