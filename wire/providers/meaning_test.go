package providers_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/testing/sayings"
	"github.com/sotto-llm/sotto/wire/providers"
)

// TestMeaning: what reaches an upstream says what the client's request says. Both are read here by
// a reader that knows the APIs from their documentation, and none of the code of wire.
func TestMeaning(t *testing.T) {
	rounds := 40
	if !effort.Brief() {
		rounds = 1000 * effort.Times()
	}
	for _, from := range providers.APIs() {
		for _, to := range providers.APIs() {
			t.Run(from.Name+" to "+to.Name, func(t *testing.T) {
				t.Parallel()
				same := 0
				for seed := range uint64(rounds) {
					q := randomRequest(rand.New(rand.NewPCG(seed, 1)))
					if from.Name == "cohere" || to.Name == "cohere" || to.Name == "bedrock" { // see TestTurns for what they lack
						q.Choice.Names = nil
					}
					first, err := from.Codec.WriteTurn(nil, q)
					if err != nil {
						continue
					}
					crossing, err := from.Codec.ReadTurn(first)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := crossing.For(to.Codec.Name()); err != nil {
						t.Fatal(err)
					}
					second, err := to.Codec.WriteTurn(nil, crossing)
					if err != nil {
						continue
					}
					was, is := saidIn(t, from, first), saidIn(t, to, second)
					if from.Name == "ollama" || to.Name == "ollama" {
						was, is = was.ForOllama(), is.ForOllama()
					}
					if was, is := was.Lines(), is.Lines(); !slices.Equal(was, is) {
						t.Fatalf("seed %d\n%s\nsays\n%s\n%s\nsays\n%s", seed, first, lines(was), second, lines(is))
					}
					same++
				}
				if same < rounds/5 {
					t.Errorf("%d requests were compared", same)
				}
			})
		}
	}
}

func saidIn(t *testing.T, api providers.API, body []byte) *sayings.Saying {
	t.Helper()
	s, err := sayings.Of(api.Name, body)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
