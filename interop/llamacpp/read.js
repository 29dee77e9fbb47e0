// Loads the models that lines of its input name, has each say its reply to "Hi", and writes what
// node-llama-cpp reads: a line of JSON for each. The engine is llama.cpp, with its own tokenizer and sampler.
import {createInterface} from "node:readline"
import * as llamacpp from "node-llama-cpp"

const llama = await llamacpp.getLlama({gpu: false, build: "never", logLevel: "error", maxThreads: 1})
for await (const line of createInterface({input: process.stdin})) {
	const {id, wrapper, file} = JSON.parse(line)
	const model = await llama.loadModel({modelPath: file})
	const context = await model.createContext({contextSize: 2048, sequences: 1})
	const chatWrapper = new llamacpp[wrapper + "ChatWrapper"]()
	const session = new llamacpp.LlamaChatSession({contextSequence: context.getSequence(), chatWrapper, systemPrompt: ""})
	let streamed = ""
	const {response, stopReason} = await session.promptWithMeta("Hi", {
		temperature: 0, maxTokens: 1500, onResponseChunk: chunk => { streamed += chunk.text }
	})
	const parts = response.map(p => typeof p === "string" ? {kind: "text", text: p} : {kind: p.segmentType, text: p.text})
	console.log(JSON.stringify({id, parts, streamed, stopReason}))
	await context.dispose()
	await model.dispose()
}
process.exit(0)
