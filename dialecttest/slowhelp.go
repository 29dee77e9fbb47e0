package dialecttest

import "github.com/sotto-llm/sotto"

func slowHasMarker(d sotto.Dialect, s string) bool             { return false }
func slowUnderWay(d sotto.Dialect, read string, held int) bool { return true }
