module github.com/sotto-llm/sotto

go 1.26
