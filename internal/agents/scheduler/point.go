package scheduler

// atPoint, which only tests set, is called at every place where a crash must be survived: before
// and after each change of what is kept.
var atPoint func(name string)

func point(name string) {
	if atPoint != nil {
		atPoint(name)
	}
}
