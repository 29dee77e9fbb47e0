package record

// atPoint, which only tests set, is called at every place where a crash must be
// survived: before and after each step that changes a file.
var atPoint func(name string)

func point(name string) {
	if atPoint != nil {
		atPoint(name)
	}
}
