module github.com/sotto-llm/sotto/interop

go 1.26.0

replace github.com/sotto-llm/sotto => ../
