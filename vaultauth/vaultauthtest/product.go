package vaultauthtest

// Product names the server that a Server imitates where the two differ.
type Product string

// The two servers. Vault is its community edition, which knows no namespaces
// and ignores the header that names one.
const (
	OpenBao Product = "OpenBao"
	Vault   Product = "Vault"
)

// defaultProduct is what New imitates unless told otherwise.
const defaultProduct = Vault

// version is the one whose answers were compared with this package's.
func (p Product) version() string {
	if p == OpenBao {
		return "2.6.2"
	}
	return "1.21.4"
}

// servicePrefix and batchPrefix begin the tokens of the two types.
func (p Product) servicePrefix() string {
	if p == OpenBao {
		return "s."
	}
	return "hvs."
}

func (p Product) batchPrefix() string {
	if p == OpenBao {
		return "b."
	}
	return "hvb."
}
