module github.com/sotto-llm/sotto/_benchmark

go 1.26.0

replace github.com/sotto-llm/sotto => ../

require (
	github.com/ollama/ollama v0.17.4
	github.com/sotto-llm/sotto v0.0.0-00010101000000-000000000000
)
