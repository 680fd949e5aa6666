// Kubeflow's Training Operator, v1: its own controllers of five kinds of jobs, from its published module.
//
//	training-operator HEALTH_ADDRESS
//
// What its main package has besides is left out: the webhooks that validate, and the certificates for them, which it
// keeps in a folder that two of it would share. KUBECONFIG says which cluster.
package main

import (
	"log"
	"os"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	controllers "github.com/kubeflow/training-operator/pkg/controller.v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	ctrl.SetLogger(zap.New())
	config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
	config.Config.PyTorchInitContainerTemplateFile = config.PyTorchInitContainerTemplateFileDefault
	config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault
	config.Config.MPIKubectlDeliveryImage = config.MPIKubectlDeliveryImageDefault

	kinds := runtime.NewScheme()
	must(scheme.AddToScheme(kinds))
	must(kubeflow.AddToScheme(kinds))
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                 kinds,
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: os.Args[1],
	})
	must(err)
	must(manager.AddReadyzCheck("readyz", healthz.Ping))
	for _, kind := range []string{
		kubeflow.PyTorchJobKind, kubeflow.TFJobKind, kubeflow.XGBoostJobKind, kubeflow.PaddleJobKind, kubeflow.MPIJobKind,
	} {
		must(controllers.SupportedSchemeReconciler[kind](manager, common.GenNonGangSchedulerSetupFunc(), 1))
	}
	must(manager.Start(ctrl.SetupSignalHandler()))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
